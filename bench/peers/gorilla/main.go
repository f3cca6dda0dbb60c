// A gorilla/websocket server: parses JSON and sends the reply, serialized once, to all connections of the session.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

type payload struct {
	MessageID string `json:"message_id,omitempty"`
	Content   string `json:"content"`
	Final     bool   `json:"final,omitempty"`
}

type message struct {
	Type      string  `json:"type"`
	ID        string  `json:"id,omitempty"`
	Payload   payload `json:"payload"`
	SessionID string  `json:"session_id,omitempty"`
	Timestamp int64   `json:"timestamp,omitempty"`
}

// A connection allows one writer at a time.
type member struct {
	mutex sync.Mutex
	conn  *websocket.Conn
}

func (m *member) write(send func(*websocket.Conn) error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_ = send(m.conn)
}

type session struct {
	mutex   sync.RWMutex
	members map[*member]struct{}
}

var (
	upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	mutex    sync.Mutex
	sessions = map[string]*session{}
	created  atomic.Int64
)

func join(name string, m *member) *session {
	mutex.Lock()
	defer mutex.Unlock()
	s := sessions[name]
	if s == nil {
		s = &session{members: map[*member]struct{}{}}
		sessions[name] = s
	}
	s.mutex.Lock()
	s.members[m] = struct{}{}
	s.mutex.Unlock()
	return s
}

func leave(name string, s *session, m *member) {
	mutex.Lock()
	defer mutex.Unlock()
	s.mutex.Lock()
	delete(s.members, m)
	empty := len(s.members) == 0
	s.mutex.Unlock()
	if empty {
		delete(sessions, name)
	}
}

func (s *session) send(answer message) {
	answer.Timestamp = time.Now().UnixMilli()
	text, err := json.Marshal(answer)
	if err != nil {
		return
	}
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	write := func(conn *websocket.Conn) error { return conn.WriteMessage(websocket.TextMessage, text) }
	if len(s.members) > 1 {
		prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
		if err != nil {
			return
		}
		write = func(conn *websocket.Conn) error { return conn.WritePreparedMessage(prepared) }
	}
	for m := range s.members {
		m.write(write)
	}
}

// The same intervals as in settings.mjs.
const (
	updateEvery = 112 * time.Millisecond
	tokensEvery = 20 * time.Millisecond
	token       = " word"
	lastToken   = " the-end"
)

func (s *session) stream(answer message, tokens, perSecond int) {
	began, shown, written := time.Now(), time.Now(), 0
	var text strings.Builder
	for ; written < tokens-1; time.Sleep(tokensEvery) {
		due := min(tokens-1, int(time.Since(began).Seconds()*float64(perSecond)))
		for ; written < due; written++ {
			text.WriteString(token)
		}
		if time.Since(shown) >= updateEvery {
			shown = time.Now()
			answer.Payload.Content = text.String()
			s.send(answer)
			answer.Type = "message.update"
		}
	}
	answer.Payload.Content = text.String() + lastToken
	answer.Payload.Final = true
	s.send(answer)
}

func serve(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	name := r.URL.Query().Get("session_id")
	if name == "" {
		name = fmt.Sprintf("session-%d", created.Add(1))
	}
	m := &member{conn: conn}
	s := join(name, m)
	defer leave(name, s, m)
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return
		}
		var request message
		if json.Unmarshal(data, &request) != nil {
			return
		}
		id := fmt.Sprintf("message-%024d", created.Add(1))
		answer := message{Type: "message.create", SessionID: name, Payload: payload{MessageID: id, Content: request.Payload.Content}}
		var tokens, perSecond int
		if n, _ := fmt.Sscanf(request.Payload.Content, "stream %d %d", &tokens, &perSecond); n == 2 {
			go s.stream(answer, tokens, perSecond)
			continue
		}
		s.send(answer)
	}
}

func main() {
	http.HandleFunc("/pico", serve)
	http.HandleFunc("/collect", func(http.ResponseWriter, *http.Request) { debug.FreeOSMemory() })
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
