from doorward import agent

@agent
async def reply(message, answer):
    yield "you said " + message.content
