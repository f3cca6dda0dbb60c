// {"client":"go-openai","protocol":"openai","packages":["github.com/sashabaranov/go-openai@v1.41.2"]}
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

func request(content string) openai.ChatCompletionRequest {
	message := openai.ChatCompletionMessage{Role: "user", Content: content}
	return openai.ChatCompletionRequest{Model: "gpt-4o", Messages: []openai.ChatCompletionMessage{message}}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	config := openai.DefaultConfig(os.Getenv("TOKEN"))
	config.BaseURL = os.Getenv("BASE_URL")
	client := openai.NewClientWithConfig(config)
	ctx := context.Background()
	whole, err := client.CreateChatCompletion(ctx, request("hello"))
	check(err)
	stream, err := client.CreateChatCompletionStream(ctx, request("hello"))
	check(err)
	text := ""
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		text += chunk.Choices[0].Delta.Content
	}
	if whole.Choices[0].Message.Content != "you said hello" || text != "you said hello" {
		check(fmt.Errorf("other replies: %q, %q", whole.Choices[0].Message.Content, text))
	}
	_, err = client.CreateChatCompletion(ctx, request("fail"))
	if err == nil || !strings.Contains(err.Error(), "The kettle is broken.") {
		check(fmt.Errorf("another error: %v", err))
	}
	fmt.Println(`{"works":["reply","stream","errors"]}`)
}
