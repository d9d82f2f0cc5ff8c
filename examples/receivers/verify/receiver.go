// Verifies each request with a signing secret of the entity (SECRET).
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	// Without it, the library accepts what anyone signs with an empty key.
	secret := os.Getenv("SECRET")
	if secret == "" {
		log.Fatal("set SECRET")
	}
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /hook", func(response http.ResponseWriter, request *http.Request) {
		rawBody, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
		if err != nil || webhook.Verify(rawBody, request.Header) != nil {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct{ Event string }
		if err := json.Unmarshal(rawBody, &event); err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Println("verified", event.Event, request.Header.Get("webhook-id"))
		response.WriteHeader(http.StatusNoContent)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:3002")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on http://127.0.0.1:3002")
	log.Fatal(http.Serve(listener, nil))
}
