"""What an application does with the Python library, against a running API; prints its findings as JSON."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from parley_api import SIGNATURE_HEADER, NotFoundError, Parley, verify_webhook

SECRET = "a long random string"
NOW = float(os.environ["NOW"])

parley = Parley()
agent = parley.agents.create(name="Front desk")
agent_id = agent["agent_id"]
parley.agents.create(name="Kitchen")
bar = parley.agents.create(name="Bar")
config = parley.agents.update_config(agent_id, prompt={"system_prompt": "Be brief."})
published = parley.agents.publish(agent_id)
names = sorted(row["name"] for row in parley.agents.list(page_size=2))
parley.agents.delete(bar["agent_id"])
menu = parley.knowledge_sources.create(source=("menu.md", b"# Menu"))
voice = parley.voices.create(
    type="tts",
    title="Alto",
    train_mode="fast",
    visibility="private",
    voices=[b"RIFF1234"],
    texts=["Hello!"],
)
with parley.voices.get_sample(voice["_id"], 0) as answer:
    sample = answer.read().decode()
first_event = next(iter(parley.events.stream())).event

received = []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.append(verify_webhook(body, self.headers[SIGNATURE_HEADER], SECRET, now=lambda: NOW))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
parley.agents.test_webhook(agent_id, url=f"http://127.0.0.1:{server.server_port}/", secret=SECRET)


def failure(request):
    try:
        request()
    except NotFoundError as error:
        return error
    raise AssertionError("it was found")


missing = failure(lambda: parley.agents.get(bar["agent_id"]))
call = {"agent_id": agent_id, "phone_number_id": "nowhere", "to_number": "+12125550123"}
refused = failure(lambda: parley.phone_calls.create(**call))
print(
    json.dumps(
        {
            "version": published["version_number"],
            "prompt": config["prompt"]["system_prompt"],
            "names": names,
            "menu": menu["content"],
            "sample": sample,
            "first_event": first_event,
            "webhook": received[0]["event"],
            "missing": {
                "status": missing.status,
                "message": str(missing),
                "has_request_id": missing.request_id is not None,
            },
            "refused": refused.reason,
        }
    )
)
