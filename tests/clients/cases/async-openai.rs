// {"client":"async-openai","protocol":"openai","packages":["async-openai@0.29.0","tokio@1"]}
use async_openai::{config::OpenAIConfig, types::*, Client};
use std::env;

fn request(content: &str) -> CreateChatCompletionRequest {
    let message = ChatCompletionRequestUserMessageArgs::default().content(content).build().unwrap();
    CreateChatCompletionRequestArgs::default().model("gpt-4o").messages([message.into()]).build().unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let config = OpenAIConfig::new()
        .with_api_base(env::var("BASE_URL").unwrap())
        .with_api_key(env::var("TOKEN").unwrap());
    let client = Client::with_config(config);
    let whole = client.chat().create(request("hello")).await.unwrap();
    assert_eq!(whole.choices[0].message.content.as_deref(), Some("you said hello"));
    let failed = client.chat().create(request("fail")).await.unwrap_err();
    assert!(failed.to_string().contains("The kettle is broken."), "{failed}");
    println!("{{\"works\":[\"reply\",\"errors\"]}}");
}
