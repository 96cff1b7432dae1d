//! server stdio: the fixture of this suite on the official Rust SDK.
#![allow(deprecated)]
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{
    elicit_safe, prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router,
    ErrorData as McpError, Peer, RoleServer, ServerHandler, ServiceExt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Echo {
    text: String,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Steps {
    count: u32,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Greet {
    name: Option<String>,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Colour {
    colour: String,
}
elicit_safe!(Colour);

#[derive(Clone)]
struct Fixture;

#[tool_router]
impl Fixture {
    #[tool(description = "x")]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        format!("echo: {text}")
    }

    #[tool(description = "x")]
    async fn fail(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("broken on purpose")])
    }

    #[tool(description = "x")]
    async fn steps(
        &self,
        Parameters(Steps { count }): Parameters<Steps>,
        meta: RequestMetaObject,
        peer: Peer<RoleServer>,
    ) -> String {
        if let Some(token) = meta.get_progress_token() {
            for i in 1..=count {
                let done = ProgressNotificationParam::new(token.clone(), i as f64).with_total(count as f64);
                let _ = peer.notify_progress(done).await;
            }
        }
        format!("{count} steps")
    }

    #[tool(description = "x")]
    async fn tell(&self, peer: Peer<RoleServer>) -> String {
        let line = LoggingMessageNotificationParam::new(LoggingLevel::Info, "a line of the log".into());
        let _ = peer.notify_logging_message(line).await;
        "told".into()
    }

    #[tool(description = "x")]
    async fn ask(&self, peer: Peer<RoleServer>) -> CallToolResult {
        match peer.elicit::<Colour>("Which colour?").await {
            Ok(Some(answer)) => CallToolResult::success(vec![ContentBlock::text(format!("colour: {}", answer.colour))]),
            other => CallToolResult::error(vec![ContentBlock::text(format!("{:?}", other.map(|_| ())))]),
        }
    }
}

#[prompt_router]
impl Fixture {
    #[prompt(name = "greet", description = "x")]
    async fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {}.", name.as_deref().unwrap_or("you")))]
    }
}

#[tool_handler(router = Self::tool_router())]
#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerInfo {
        ServerInfo::new(ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().enable_logging().build())
            .with_server_info(Implementation::new("fixture-rust", "1.0.0"))
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, McpError> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("memo://one", "memo-one").with_mime_type("text/plain")]))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourceTemplatesResult, McpError> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![ResourceTemplate::new("memo://hello/{name}", "memo-hello")]))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Result<ReadResourceResponse, McpError> {
        let text = match request.uri.as_str() {
            "memo://one" => "memo one".to_string(),
            uri => match uri.strip_prefix("memo://hello/") {
                Some(name) => format!("hello {name}"),
                None => return Err(McpError::resource_not_found("no such memo", None)),
            },
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
