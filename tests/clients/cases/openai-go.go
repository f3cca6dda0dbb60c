// {"client":"openai-go","protocol":"openai","packages":["github.com/openai/openai-go@v1.12.0"]}
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func request(content string) openai.ChatCompletionNewParams {
	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}
	return openai.ChatCompletionNewParams{Model: "gpt-4o", Messages: messages}
}

func main() {
	client := openai.NewClient(
		option.WithBaseURL(os.Getenv("BASE_URL")), option.WithAPIKey(os.Getenv("TOKEN")), option.WithMaxRetries(0))
	ctx := context.Background()
	whole, err := client.Chat.Completions.New(ctx, request("hello"))
	check(err)
	stream := client.Chat.Completions.NewStreaming(ctx, request("hello"))
	text := ""
	for stream.Next() {
		text += stream.Current().Choices[0].Delta.Content
	}
	check(stream.Err())
	if whole.Choices[0].Message.Content != "you said hello" || text != "you said hello" {
		check(fmt.Errorf("other replies: %q, %q", whole.Choices[0].Message.Content, text))
	}
	_, err = client.Chat.Completions.New(ctx, request("fail"))
	if err == nil || !strings.Contains(err.Error(), "The kettle is broken.") {
		check(fmt.Errorf("another error: %v", err))
	}
	fmt.Println(`{"works":["reply","stream","errors"]}`)
}
