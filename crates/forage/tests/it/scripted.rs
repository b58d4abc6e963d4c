//! A model that follows a script and records its requests.

#![expect(clippy::panic, reason = "a script that does not fit is a failed test")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forage_agent::{Agent, AgentEvent, Transcript, usable_tools};
use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_llm::{
    CallBudget, ChatAnswer, ChatError, ChatMessage, ChatModel, ChatRequest, Finish, ToolCall, Usage,
};
use forage_tools::Workspace;
use forage_tools::registry::ToolSelection;

/// The response to one request.
pub(crate) type Reply = Box<dyn Fn(&ChatRequest, &CallBudget) -> Result<ChatAnswer, ChatError> + Send>;

pub(crate) struct Scripted {
    name: &'static str,
    script: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    pub(crate) fn new(name: &'static str, script: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let script = Mutex::new(script.into_iter().collect());
        Arc::new(Self { name, script, seen: Mutex::default() })
    }

    /// Returns all requests so far, in order.
    pub(crate) fn seen(&self) -> Vec<ChatRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the texts of the last request, without the system prompt.
    pub(crate) fn last_texts(&self) -> Vec<String> {
        self.seen().last().unwrap().texts().skip(1).map(str::to_owned).collect()
    }
}

/// Joins the texts of a request for a snapshot.
pub(crate) fn joined(texts: &[String]) -> String {
    crate::support::stable(&texts.join("\n---\n"))
}

impl ChatModel for Scripted {
    fn name(&self) -> String {
        format!("test/{}", self.name)
    }

    fn provider(&self) -> String {
        // Each model has a provider of its own, so that ruling one out does not affect the other.
        self.name.to_owned()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        assert_protocol(request);
        self.seen.lock().unwrap().push(request.clone());
        let reply = self.script.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| panic!("{} has nothing more to say", self.name));
        let mut answer = reply(request, budget)?;
        answer.model = self.name.to_owned();
        Ok(answer)
    }
}

/// Checks the rules that hold for every wire. The user's message comes first, and then turns and results
/// alternate. Each call must be answered exactly once and in order.
fn assert_protocol(request: &ChatRequest) {
    let mut messages = request.messages.iter();
    assert!(matches!(messages.next(), Some(ChatMessage::User(_))));
    while let Some(turn) = messages.next() {
        assert!(matches!(turn, ChatMessage::Model(_)), "{turn:?}");
        let Some(ChatMessage::ToolResults(results)) = messages.next() else {
            panic!("a turn without results")
        };
        // We can't access the content of a turn, but its debug output shows the calls.
        let printed = format!("{turn:?}");
        let at =
            |id: &str| printed.find(&format!("id: \"{id}\"")).unwrap_or_else(|| panic!("{id}: {printed}"));
        let places: Vec<usize> = results.iter().map(|result| at(&result.call_id)).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert_eq!(printed.matches("ToolCall {").count(), results.len(), "{printed}");
    }
}

/// Responds with text only.
pub(crate) fn say(text: &str) -> Reply {
    says(text, &[])
}

/// Responds with calls only. Each has the tool's name and the arguments as the model writes them.
pub(crate) fn call(calls: &[(&str, &str)]) -> Reply {
    says("", calls)
}

/// Responds with text and calls.
pub(crate) fn says(text: &str, calls: &[(&str, &str)]) -> Reply {
    let text = text.to_owned();
    let call = |(index, (name, arguments)): (usize, &(&str, &str))| ToolCall {
        id: format!("id-{index}"),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    let calls: Vec<ToolCall> = calls.iter().enumerate().map(call).collect();
    Box::new(move |_, _| {
        let mut answer = ChatAnswer::from_text("test", "", text.as_str());
        answer.calls.clone_from(&calls);
        answer.finish = if calls.is_empty() { Finish::Complete } else { Finish::ToolCalls };
        answer.usage = Some(Usage { input_tokens: 100, cached_input_tokens: 40, output_tokens: 10 });
        answer.cost_usd = Some(0.25);
        Ok(answer)
    })
}

/// Responds with an error.
pub(crate) fn fail(error: fn(String) -> ChatError) -> Reply {
    Box::new(move |_, _| Err(error("test/one".to_owned())))
}

/// Hangs until the budget is used up.
pub(crate) fn hang() -> Reply {
    Box::new(|_, budget| {
        loop {
            match budget.stop.check() {
                None => std::thread::sleep(Duration::from_millis(5)),
                Some(stopped) => return Err(ChatError::stopped("test/one".to_owned(), stopped)),
            }
        }
    })
}

/// A tree, for agents that work on it.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = bench.directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        bench
    }

    pub(crate) fn agent(&self, models: &[&Arc<Scripted>]) -> Agent {
        let policy = SecretPolicy::standard(&[]);
        let root = Root::open(self.directory.path(), &RootPolicy::default(), policy).unwrap();
        let workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
        let tools = usable_tools(&workspace, ToolSelection::default()).unwrap();
        let models = models.iter().map(|model| Arc::clone(*model) as Arc<dyn ChatModel>).collect();
        Agent::new(models, tools, workspace)
    }

    /// Asks one model with the default limits.
    pub(crate) fn ask(&self, model: &Arc<Scripted>) -> Transcript {
        ask(&self.agent(&[model]))
    }
}

pub(crate) fn ask(agent: &Agent) -> Transcript {
    agent.ask("what is this?", &|_: &AgentEvent<'_>| ()).unwrap()
}
