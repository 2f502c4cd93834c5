// Pi's four tools, with every effect asked of the host over a socket that Pi inherits. The host holds the sandbox,
// writes down what it saw, and says so in `details.host`; nothing of a tool touches the machine that Pi runs on.

import * as net from "node:net";
import * as readline from "node:readline";
import {
  createBashTool,
  createEditTool,
  createReadTool,
  createWriteTool,
  type ExtensionAPI,
} from "@mariozechner/pi-coding-agent";

const WORKSPACE = "/workspace";

type Answer = Record<string, any>;
type Waiting = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

class Host {
  private readonly socket = new net.Socket({ fd: Number(process.env.POSTTRAIN_HOST_FD) });
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor() {
    readline.createInterface({ input: this.socket }).on("line", (line) => this.take(JSON.parse(line)));
    // Without its host an agent must not go on, whatever it is doing.
    this.socket.on("close", () => process.exit(1));
    this.socket.on("error", () => process.exit(1));
  }

  ask(operation: string, values: Answer = {}): Promise<Answer> {
    const number = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.socket.write(`${JSON.stringify({ number, operation, ...values })}\n`);
    });
  }

  /** Lets Node end when there is nothing else to do. */
  letGo() {
    this.socket.unref();
  }

  private take(answer: Answer) {
    const waiting = this.waiting.get(answer.number);
    this.waiting.delete(answer.number);
    if (answer.error === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(answer.error));
  }
}

export default function (pi: ExtensionAPI) {
  const host = new Host();

  const files = (call: string) => ({
    access: async (path: string) => void (await host.ask("access", { call, path })),
    readFile: async (path: string) => Buffer.from((await host.ask("read", { call, path })).content, "base64"),
    writeFile: async (path: string, content: string) => void (await host.ask("write", { call, path, content })),
    mkdir: async () => {}, // made with the file
  });

  const commands = (call: string) => ({
    exec: async (command: string, _cwd: string, options: { onData: (data: Buffer) => void; timeout?: number }) => {
      const done = await host.ask("run", { call, command, timeout: options.timeout ?? null });
      options.onData(Buffer.from(done.output, "utf-8"));
      if (done.timed_out) throw new Error(`timeout:${done.timed_out}`);
      return { exitCode: done.exit_code as number };
    },
  });

  const tools = {
    read: (call: string) => createReadTool(WORKSPACE, { operations: files(call) }),
    write: (call: string) => createWriteTool(WORKSPACE, { operations: files(call) }),
    edit: (call: string) => createEditTool(WORKSPACE, { operations: files(call) }),
    bash: (call: string) => createBashTool(WORKSPACE, { operations: commands(call) }),
  };
  for (const make of Object.values(tools)) {
    pi.registerTool({
      ...make(""),
      executionMode: "sequential", // what is run is what was written before
      execute: (call: string, values: any, signal: any, update: any) => make(call).execute(call, values, signal, update),
    } as any);
  }

  // Pi's own would name the folder that it was started in, and the day.
  pi.on("before_agent_start", async () => ({ systemPrompt: (await host.ask("system_prompt")).text }));
  pi.on("before_provider_request", async () => void (await host.ask("turn")));
  // Not waited for: Pi takes its events one after the other, and leaves before the last ones if they are held up.
  pi.on("message_end", (event) => {
    if (event.message.role === "assistant") void host.ask("turn_over").catch(() => {});
  });
  pi.on("agent_end", () => host.letGo());
  pi.on("tool_call", async (event) => {
    const answer = await host.ask("call", { call: event.toolCallId, tool: event.toolName, input: event.input });
    return answer.refused ? { block: true, reason: answer.refused } : undefined;
  });
  pi.on("tool_result", async (event) => {
    const seen = await host.ask("result", { call: event.toolCallId });
    return { details: { ...(event.details as object), host: seen.host } };
  });
}
