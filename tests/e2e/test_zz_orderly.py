from __future__ import annotations
import time, psutil
from contextlib import ExitStack
from tests.e2e.test_standby import Instances, await_one
def test_orderly(lab):
    with ExitStack() as ps:
        i = Instances(lab, ps, ports=False)
        owner = i.start(standby=True); owner.await_log("streaming:")
        for _ in range(3):
            s = i.start(standby=True); s.await_log("owns connector"); time.sleep(4)
            t=time.monotonic(); owner.process.terminate(); await_one([s],20,{}); print("orderly", time.monotonic()-t, flush=True)
            owner.await_end(); owner = s
        p = psutil.Process(owner.process.pid)
        a=p.cpu_times(); time.sleep(10); b=p.cpu_times()
        print("idle owner cpu/10s", b.user+b.system-a.user-a.system, "rss", p.memory_info().rss>>20, "threads", p.num_threads())
        w = i.start(standby=True); w.await_log("owns connector"); time.sleep(4)
        q = psutil.Process(w.process.pid); a=q.cpu_times(); time.sleep(10); b=q.cpu_times()
        print("standby cpu/10s", b.user+b.system-a.user-a.system, "rss", q.memory_info().rss>>20, "threads", q.num_threads())
