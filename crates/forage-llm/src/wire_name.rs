//! The wire protocols by name.

use serde::{Deserialize, Serialize};

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI chat completions, which most hosted and all common local servers speak: `POST {base_url}/chat/completions`.
    #[default]
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Anthropic messages: `POST {base_url}/v1/messages`, with the base address as `ANTHROPIC_BASE_URL` has it.
    Anthropic,
    /// Gemini: `POST {base_url}/v1beta/models/{model}:generateContent`.
    Gemini,
}

impl Wire {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::Anthropic, Self::Gemini];

    /// Its name in tables and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The wire with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }
}
