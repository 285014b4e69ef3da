"""OSWorld's own client plays three tasks on a server of ours: attach.py PORT. Modules that only evaluators import may be absent."""
import sys, tempfile, importlib.abc, importlib.machinery, urllib.request
from unittest.mock import MagicMock
port=sys.argv[1]; mocked=[]
class Stub(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        frame = sys._getframe()
        while "importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__: frame = frame.f_back
        if name.split(".")[0] == "desktop_env" or not ("/desktop_env/" in frame.f_code.co_filename or name.split(".")[0] in {m.split(".")[0] for m in mocked}): return None
        mocked.append(name); return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        m = MagicMock(); m.__path__ = []; m.__spec__ = spec; m.__name__ = spec.name; return m
    def exec_module(self, module): pass
sys.meta_path.append(Stub())
import desktop_env.desktop_env as D
class Provider:
    def start_emulator(self, *a, **k): pass
    def stop_emulator(self, *a, **k): pass
    def get_ip_address(self, path): return f"127.0.0.1:{port}:9222:8006:8080"
    def revert_to_snapshot(self, path, name):
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/rl/reset", b"{}")).read()
D.create_vm_manager_and_provider = lambda *a, **k: (MagicMock(), Provider())
env = D.DesktopEnv(provider_name="docker", path_to_vm="none", action_space="pyautogui", require_a11y_tree=False, cache_dir=tempfile.mkdtemp(), screen_size=(1280, 800))
N="/home/user/Desktop/note.txt"
def task(i, text, actions): return ({"id":f"t{i}","instruction":"write","config":[{"type":"execute","parameters":{"command":f"printf 'one\\n' > {N}","shell":True}},{"type":"open","parameters":{"path":N}}],
 "evaluator":{"func":"exact_match","result":{"type":"vm_command_line","command":f"cat {N}","shell":True},"expected":{"type":"rule","rules":{"expected":text}}}}, actions)
save="pyautogui.hotkey('ctrl', 's')"
for t, actions in [task(1,"one\ntwo",["pyautogui.hotkey('ctrl','end')","pyautogui.typewrite('two')",save,"DONE"]),
                   task(2,"a < b",["pyautogui.hotkey('ctrl','a')","pyautogui.typewrite('a < b')",save,"DONE"]),
                   task(3,"one\n",["FAIL"])]:
    env.reset(task_config=t)
    for a in actions: env.step(a, pause=0.2)
    print("evaluate", t["id"], env.evaluate(), flush=True)
env.close()
