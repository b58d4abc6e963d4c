export { forageTools } from "./ai.js";
