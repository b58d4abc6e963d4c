//! Maps each wire to its protocol.

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::openai_chat::OpenAiChat;
use super::protocol::Protocol;
use crate::wire_name::Wire;

pub(super) fn protocol(wire: Wire) -> &'static dyn Protocol {
    match wire {
        Wire::OpenAiChat => &OpenAiChat,
        Wire::Anthropic => &Anthropic,
        Wire::Gemini => &Gemini,
    }
}
