//! client legacy | modern stdio COMMAND…: asks for each feature, and prints a line "feature<TAB>what came" for each.
#![allow(deprecated)]
use std::future::Future;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData as McpError, RoleClient};
use serde_json::{json, Value};

type Failure = Box<dyn std::error::Error>;

#[derive(Clone, Default)]
struct Client {
    progress: Arc<AtomicUsize>,
    log: Arc<AtomicUsize>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientInfo {
        ClientInfo::new(ClientCapabilities::builder().enable_elicitation().build(), Implementation::new("rust", "1"))
    }
    async fn create_elicitation(&self, _: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, McpError> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"colour": "blue"})))
    }
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
    async fn on_logging_message(&self, _: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.log.fetch_add(1, Ordering::SeqCst);
    }
}

type Service = RunningService<RoleClient, Client>;

async fn said(name: &str, feature: impl Future<Output = Result<String, Failure>>) {
    let value = match tokio::time::timeout(Duration::from_secs(15), feature).await {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => format!("failed: {error}"),
        Err(_) => "failed: no answer".into(),
    };
    let line: String = value.replace('\n', " ").chars().take(300).collect();
    println!("{name}\t{line}");
}

/// Of several servers as one the first with that name: the others are told apart by a prefix.
async fn call(service: &Service, tools: &[Tool], name: &str, arguments: Value) -> Result<String, Failure> {
    let tool = tools.iter().find(|tool| tool.name.ends_with(name)).ok_or("no such tool")?;
    let request = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments.as_object().unwrap().clone());
    let result = service.call_tool(request).await?;
    let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.clone()).ok_or("no text")?;
    Ok(if result.is_error == Some(true) { format!("error: {text}") } else { text })
}

async fn read(service: &Service, uri: String) -> Result<String, Failure> {
    match service.read_resource(ReadResourceRequestParams::new(uri)).await?.contents.into_iter().next() {
        Some(ResourceContents::TextResourceContents { text, .. }) => Ok(text),
        _ => Err("no text".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().collect();
    let mut child = tokio::process::Command::new(&words[3]).args(&words[4..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mode = match words[1].as_str() {
        "modern" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    let handler = Client::default();
    let service = handler.clone().serve_with_lifecycle(transport, mode).await?;
    let service = &service;
    let tools = &service.list_all_tools().await?;

    said("echo", call(service, tools, "echo", json!({"text": "Grüße ✓"}))).await;
    said("large", async { Ok(call(service, tools, "echo", json!({"text": "x".repeat(300_000)})).await?.len().to_string()) }).await;
    said("fail", call(service, tools, "fail", json!({}))).await;
    said("unknown", async {
        let result = service.call_tool(CallToolRequestParams::new("no-such-tool")).await;
        Ok(match result { Ok(result) if result.is_error != Some(true) => "no error", _ => "error" }.into())
    }).await;
    said("progress", async {
        let tool = tools.iter().find(|tool| tool.name.ends_with("steps")).ok_or("no such tool")?;
        let request = CallToolRequestParams::new(tool.name.clone()).with_arguments(json!({"count": 3}).as_object().unwrap().clone());
        let request = ClientRequest::CallToolRequest(Request::new(request));
        service.send_cancellable_request(request, PeerRequestOptions::no_options()).await?.await_response().await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(handler.progress.load(Ordering::SeqCst).to_string())
    }).await;
    said("log", async {
        call(service, tools, "tell", json!({})).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(handler.log.load(Ordering::SeqCst).to_string())
    }).await;
    said("ask", call(service, tools, "ask", json!({}))).await;
    said("resource", async {
        let all = service.list_all_resources().await?;
        read(service, all.iter().find(|one| one.name.ends_with("memo-one")).ok_or("no such resource")?.uri.clone()).await
    }).await;
    said("template", async {
        let all = service.list_all_resource_templates().await?;
        read(service, all.iter().find(|one| one.name.ends_with("memo-hello")).ok_or("no such template")?.uri_template.replace("{name}", "you")).await
    }).await;
    said("prompt", async {
        let all = service.list_all_prompts().await?;
        let name = &all.iter().find(|one| one.name.ends_with("greet")).ok_or("no such prompt")?.name;
        let got = service.get_prompt(GetPromptRequestParams::new(name.clone()).with_arguments(json!({"name": "Zoë"}).as_object().unwrap().clone())).await?;
        let content = serde_json::to_value(&got.messages[0].content)?;
        Ok(content["text"].as_str().unwrap_or("").to_string())
    }).await;
    said("many", async {
        let mut right = 0;
        for i in 0..20 {
            if call(service, tools, "echo", json!({"text": i.to_string()})).await? == format!("echo: {i}") { right += 1 }
        }
        Ok(right.to_string())
    }).await;
    let _ = child.start_kill();
    std::process::exit(0)
}
