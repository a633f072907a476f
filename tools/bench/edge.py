"""edge, for the benchmark harness: how it is started for each kind of workload.

The harness finds this file through EDGE_ENTRY and the binary through EDGE_BIN.
Everything edge does by default stays on: limits, timeouts, safeguards. The
access log is off, as it is for the other servers.
"""
import os
import pathlib
import shutil
import subprocess

from servers import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / "bin" / "edge"

# The programs of the workloads that run one for each request.
SCRIPTS = {kind: ROOT / "testvectors" / "bpf" / "scripts" / name
           for kind, name in {"script": "header.o", "json": "json.o"}.items()}


class Edge(Server):
    name = "edge"
    supports = frozenset(["static", "script", "json", "relay", "proxy"])

    @property
    def binary(self):
        return os.environ.get("EDGE_BIN") or str(BINARY)

    def unavailable(self):
        return "" if shutil.which(self.binary) else f"{self.binary} is missing: make build"

    def runs(self, w):
        return w.kind in self.supports and not w.h2

    def command(self, env, w):
        if w.kind == "relay":
            return [self.binary, "serve", "--workers", "1", "--listen", f"{env.host}:{env.port}",
                    "--relay", f"localhost={env.relay_a}", "--relay", f"public.example={env.relay_b}"]
        certs, site = env.dir / "certs", env.dir / "site.tar"
        certs.mkdir(exist_ok=True)
        shutil.copy(env.cert, certs / "bench.pem")
        shutil.copy(env.key, certs / "bench.key")
        if w.kind == "proxy":
            return [self.binary, "serve", "--workers", "1", "--listen", f"{env.host}:{env.port}",
                    "--cert-dir", str(certs), "--access-log", "off", "--proxy", f"http://{env.backend}"]
        subprocess.run([self.binary, "pack", str(env.root), "-o", str(site)], check=True)
        script = ["--script", str(SCRIPTS[w.kind])] if w.kind in SCRIPTS else []
        return [self.binary, "serve", "--workers", "1", "--listen", f"{env.host}:{env.port}",
                "--cert-dir", str(certs), "--access-log", "off", *script, str(site)]
