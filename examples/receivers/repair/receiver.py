# Verifies each request and its sequence number, and reads missing deliveries from the feed.
import base64, hashlib, hmac, json, os, threading, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
API = os.environ["PAYBELL_URL"] + "/api/v1/crypto"
CREDENTIALS = {"api-key": os.environ["PAYBELL_API_KEY"], "entity-id": os.environ["PAYBELL_ENTITY_ID"]}
lock = threading.Lock()
through = {}  # by endpoint: up to this number, none is missing
came = {}  # by endpoint: the numbers above it that have come


def is_signed(content, signatures):
    expected = "v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, signature) for signature in (signatures or "").split(" "))


def handle_once(endpoint, sequence, event, how):
    with lock:
        above = came.setdefault(endpoint, set())
        if sequence <= through.setdefault(endpoint, 0) or sequence in above:
            return
        above.add(sequence)
        while through[endpoint] + 1 in above:
            through[endpoint] += 1
            above.remove(through[endpoint])
    print(how, sequence, event and event["event"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        id, timestamp = self.headers.get("webhook-id", ""), self.headers.get("webhook-timestamp", "")
        endpoint, sequence = self.headers.get("paybell-endpoint", ""), self.headers.get("paybell-sequence", "")
        is_fresh = timestamp.isdigit() and abs(time.time() - int(timestamp)) < 300
        is_valid = (
            is_fresh
            and is_signed(f"{id}.{timestamp}.".encode() + body, self.headers.get("webhook-signature"))
            and (sequence == "" or is_signed(f"{id}.{endpoint}.{sequence}".encode(), self.headers.get("paybell-sequence-signature")))
        )
        self.send_response(204 if is_valid else 401)
        self.end_headers()
        if is_valid and sequence not in ("", os.environ.get("FORGET")):
            handle_once(endpoint, int(sequence), json.loads(body), "received")

    def log_message(self, *args):
        pass


def repair():
    for endpoint, after in list(through.items()):
        request = urllib.request.Request(f"{API}/endpoints/{endpoint}/feed?after={after}", headers=CREDENTIALS)
        with urllib.request.urlopen(request, timeout=30) as response:
            feed = json.load(response)
        through[endpoint] = max(after, feed["firstSequence"] - 1)
        for entry in feed["deliveries"]:
            # Events that a later one replaced, or whose payment is gone.
            is_true = entry["body"] is not None and entry["status"] not in ("superseded", "cancelled")
            event = json.loads(entry["body"]) if is_true else None
            handle_once(endpoint, entry["sequence"], event, "repaired" if is_true else "passed over")


def repair_for_ever():
    while True:
        time.sleep(1)
        try:
            repair()
        except OSError as error:
            print("try again:", error, flush=True)


threading.Thread(target=repair_for_ever, daemon=True).start()
print("listening on http://127.0.0.1:3001", flush=True)
ThreadingHTTPServer(("127.0.0.1", 3001), Receiver).serve_forever()
