# Verifies each request with a signing secret of the entity (SECRET).
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        raw_body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            event = webhook.verify(raw_body, dict(self.headers))
        except (WebhookVerificationError, ValueError):
            self.respond(401)
            return
        print("verified", event["event"], self.headers["webhook-id"], flush=True)
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


print("listening on http://127.0.0.1:3001", flush=True)
ThreadingHTTPServer(("127.0.0.1", 3001), Receiver).serve_forever()
