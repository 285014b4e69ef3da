// Follows a run from its first event to its last and prints the score of each rollout.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/vmihailenco/msgpack/v5"
)

// event is the part of an envelope that is read here. asyncapi.yaml has all of it.
type event struct {
	Type string             `msgpack:"type"`
	Data msgpack.RawMessage `msgpack:"data"`
}

type trajectory struct {
	Rollout string `msgpack:"rollout"`
	Steps   int    `msgpack:"steps"`
	Outcome struct {
		Kind  string  `msgpack:"kind"`
		Value float64 `msgpack:"value"`
	} `msgpack:"outcome"`
}

type blobRef struct {
	Sha256 string `msgpack:"sha256"`
	Bytes  int    `msgpack:"bytes"`
}

type position struct {
	_msgpack struct{} `msgpack:",as_array"`
	At       int64
	Body     []byte
}

type page struct {
	Code   string     `msgpack:"code"` // of a refusal
	Events []position `msgpack:"events"`
	Next   int64      `msgpack:"next"`
	Head   int64      `msgpack:"head"`
}

type subscriber struct {
	connection *nats.Conn
	run        string
	position   int64 // of the last event that was taken
	rollouts   int
	sum        float64
	end        string
}

func main() {
	log.SetFlags(0)
	run := "demo"
	if len(os.Args) > 1 {
		run = os.Args[1]
	}
	if err := follow(run); err != nil {
		log.Fatal(err)
	}
}

func follow(run string) error {
	connection, err := connect(run)
	if err != nil {
		return err
	}
	defer connection.Close()
	s := &subscriber{connection: connection, run: run}
	live, err := connection.SubscribeSync(s.subject("evt.*"))
	if err != nil {
		return err
	}
	if err := s.read(); err != nil {
		return err
	}
	for s.end == "" {
		message, err := live.NextMsg(time.Second)
		if err != nil {
			err = s.read() // Quiet, or too much at a time: was something lost?
		} else if at, bad := strconv.ParseInt(message.Header.Get("Rl-Position"), 10, 64); bad != nil ||
			!strings.HasPrefix(message.Subject, s.subject("evt.")) {
			continue // Not said by the head.
		} else if at == s.position+1 {
			err = s.take(at, message.Data)
		} else if at > s.position {
			err = s.read()
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("%s ended with %s: %d events, %d scores, mean %.3f\n",
		run, s.end, s.position, s.rollouts, s.sum/float64(max(s.rollouts, 1)))
	return nil
}

// connect waits for the head, which leaves its address in the folder of the run.
func connect(run string) (*nats.Conn, error) {
	runs := os.Getenv("RL_RUNS")
	if runs == "" {
		runs = "runs"
	}
	path := filepath.Join(runs, run, "connection.json")
	text, err := os.ReadFile(path)
	for ; os.IsNotExist(err); text, err = os.ReadFile(path) {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	var address struct{ URL, User, Password, Token string }
	if err := json.Unmarshal(text, &address); err != nil {
		return nil, err
	}
	options := []nats.Option{nats.MaxReconnects(-1), nats.Token(address.Token)}
	if address.User != "" {
		options = append(options, nats.UserInfo(address.User, address.Password))
	}
	return nats.Connect(address.URL, options...)
}

func (s *subscriber) subject(end string) string { return "rl.v1." + s.run + "." + end }

// ask asks the head until it answers.
func (s *subscriber) ask(subject string, question map[string]any, answer any) error {
	body, err := msgpack.Marshal(question)
	if err != nil {
		return err
	}
	for {
		reply, err := s.connection.Request(s.subject(subject), body, 5*time.Second)
		if err == nil {
			return msgpack.Unmarshal(reply.Data, answer)
		}
		if err != nats.ErrTimeout && err != nats.ErrNoResponders {
			return err
		}
		time.Sleep(500 * time.Millisecond) // The head is on its way back.
	}
}

// read takes what the log holds beyond the position.
func (s *subscriber) read() error {
	for s.end == "" {
		var found page
		if err := s.ask("log.read", map[string]any{"from": s.position + 1, "limit": 1000}, &found); err != nil {
			return err
		}
		if found.Code != "" { // It has too much in hand.
			time.Sleep(500 * time.Millisecond)
			continue
		}
		for _, one := range found.Events {
			if err := s.take(one.At, one.Body); err != nil {
				return err
			}
		}
		if found.Next > found.Head {
			return nil
		}
	}
	return nil
}

func (s *subscriber) take(at int64, body []byte) error {
	var e event
	if err := msgpack.Unmarshal(body, &e); err != nil {
		return err
	}
	s.position = at
	switch e.Type {
	case "RunCompleted", "RunFailed":
		s.end = e.Type
	case "TrajectoryCompleted":
		data, err := s.whole(e.Data)
		if err != nil {
			return err
		}
		var t trajectory
		if err := msgpack.Unmarshal(data, &t); err != nil {
			return err
		}
		if t.Outcome.Kind == "scored" {
			s.rollouts++
			s.sum += t.Outcome.Value
			fmt.Printf("%d %s %.3f after %d steps\n", at, t.Rollout, t.Outcome.Value, t.Steps)
		}
	}
	return nil
}

// whole returns an event's data, from their blob if they rest in one.
func (s *subscriber) whole(data msgpack.RawMessage) ([]byte, error) {
	var held struct {
		Blob *blobRef `msgpack:"$blob"`
	}
	if err := msgpack.Unmarshal(data, &held); err != nil || held.Blob == nil {
		return data, err
	}
	found := []byte{}
	for len(found) < held.Blob.Bytes {
		var part struct {
			Code    string `msgpack:"code"`
			Message string `msgpack:"message"`
			Chunk   []byte `msgpack:"chunk"`
		}
		question := map[string]any{"sha256": held.Blob.Sha256, "bytes": held.Blob.Bytes, "offset": len(found)}
		if err := s.ask("blob.get", question, &part); err != nil {
			return nil, err
		}
		if len(part.Chunk) == 0 {
			return nil, fmt.Errorf("blob %s: %s %s", held.Blob.Sha256, part.Code, part.Message)
		}
		found = append(found, part.Chunk...)
	}
	return found, nil
}
