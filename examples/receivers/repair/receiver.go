// Verifies each request and its sequence number, and reads missing deliveries from the feed.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type endpoint struct {
	through int64          // up to this number, none is missing
	came    map[int64]bool // the numbers above it that have come
}

var (
	key       []byte
	lock      sync.Mutex
	endpoints = map[string]*endpoint{}
)

func isSigned(content []byte, signatures string) bool {
	mac := hmac.New(sha256.New, key)
	mac.Write(content)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, signature := range strings.Split(signatures, " ") {
		if hmac.Equal(expected, []byte(signature)) {
			return true
		}
	}
	return false
}

func handleOnce(id string, sequence int64, body, how string) {
	lock.Lock()
	defer lock.Unlock()
	if endpoints[id] == nil {
		endpoints[id] = &endpoint{came: map[int64]bool{}}
	}
	one := endpoints[id]
	if sequence <= one.through || one.came[sequence] {
		return
	}
	one.came[sequence] = true
	for one.came[one.through+1] {
		one.through++
		delete(one.came, one.through)
	}
	var event struct{ Event string }
	json.Unmarshal([]byte(body), &event)
	fmt.Println(how, sequence, event.Event)
}

func receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
	header := request.Header.Get
	id, timestamp, sequence := header("webhook-id"), header("webhook-timestamp"), header("paybell-sequence")
	sentAt, _ := strconv.ParseInt(timestamp, 10, 64)
	age := time.Since(time.Unix(sentAt, 0)).Abs()
	number := id + "." + header("paybell-endpoint") + "." + sequence
	if err != nil || age > 5*time.Minute ||
		!isSigned([]byte(id+"."+timestamp+"."+string(body)), header("webhook-signature")) ||
		sequence != "" && !isSigned([]byte(number), header("paybell-sequence-signature")) {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	response.WriteHeader(http.StatusNoContent)
	if sequence != "" && sequence != os.Getenv("FORGET") {
		parsed, _ := strconv.ParseInt(sequence, 10, 64)
		handleOnce(header("paybell-endpoint"), parsed, string(body), "received")
	}
}

func repair(id string, one *endpoint) error {
	url := fmt.Sprintf("%s/api/v1/crypto/endpoints/%s/feed?after=%d", os.Getenv("PAYBELL_URL"), id, one.through)
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("api-key", os.Getenv("PAYBELL_API_KEY"))
	request.Header.Set("entity-id", os.Getenv("PAYBELL_ENTITY_ID"))
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the feed responded with %s", response.Status)
	}
	var feed struct {
		FirstSequence int64
		Deliveries    []struct {
			Sequence int64
			Status   string
			Body     string
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&feed); err != nil {
		return err
	}
	lock.Lock()
	one.through = max(one.through, feed.FirstSequence-1)
	lock.Unlock()
	for _, entry := range feed.Deliveries {
		// Events that a later one replaced, or whose payment is gone.
		if entry.Body == "" || entry.Status == "superseded" || entry.Status == "cancelled" {
			handleOnce(id, entry.Sequence, "", "passed over")
			continue
		}
		handleOnce(id, entry.Sequence, entry.Body, "repaired")
	}
	return nil
}

func repairForEver() {
	for range time.Tick(time.Second) {
		lock.Lock()
		known := map[string]*endpoint{}
		for id, one := range endpoints {
			known[id] = one
		}
		lock.Unlock()
		for id, one := range known {
			if err := repair(id, one); err != nil {
				fmt.Println("try again:", err)
			}
		}
	}
}

func main() {
	// Without it, anyone could sign.
	secret := os.Getenv("SECRET")
	if secret == "" {
		log.Fatal("set SECRET")
	}
	var err error
	if key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:3002")
	if err != nil {
		log.Fatal(err)
	}
	go repairForEver()
	fmt.Println("listening on http://127.0.0.1:3002")
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
