export { addForageTools } from "./mcp.js";
