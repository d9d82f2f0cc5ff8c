import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Subprocess } from 'bun';
import { type Block, ROOT } from './document-blocks.ts';
import { type Settings, tempFolder } from './paybell.ts';
import { PROGRAM } from './program.ts';
import { until } from './until.ts';

/**
 * Simulates a reader of a page: runs its blocks in shells that share one folder, pastes the lines that the first start
 * prints, keeps commands running that do not end, and stops the service if the text says so.
 */

/** Ports that the pages use. They are replaced by free ones. */
const PAGE_PORTS = /\b(8080|8081|3000|3001|3002)\b/g;
const DOES_NOT_END =
  /(?:npm start(?: \| tee -a [\w.]+)?|paybell (?:-- )?(?:(?:listen|tail)\b.*|serve)|(?:node|python3?) [\w-]+\.\w+|\.\/receiver)\s*(?:#.*)?$/;
/** A shell function on one line. */
const FUNCTION = /^\w+\(\) \{.*\}$/gm;
const RECEIVERS = [...new Bun.Glob('examples/receivers/*/*').scanSync(ROOT)];
const NEW_TERMINAL = /\b(?:second|third) terminal\b/;

type Running = {
  readonly text: string;
  readonly child: Subprocess;
  readonly ended: Promise<unknown>;
  readonly output: () => string;
};

export type Reader = {
  readonly folder: string;
  /** Runs one block and returns its standard output. A command that does not end keeps running once it is up. */
  run(block: Block): Promise<string>;
  save(name: string, text: string): void;
  /** All output of the background commands that contain the given words. */
  outputOf(words: string): string;
  isRunning(words: string): boolean;
  close(): Promise<void>;
};

export type ReaderOptions = {
  /** A temporary folder by default. */
  readonly folder?: string;
  /** Whether the page itself installs the command `paybell`; by default the reader has done so. */
  readonly installs?: boolean;
  /** Whether variables and functions end with the terminal. By default all blocks share them. */
  readonly separatesTerminals?: boolean;
};

export function createReader(settings: Settings = {}, options: ReaderOptions = {}): Reader {
  const { folder: given, installs = false, separatesTerminals = false } = options;
  const folder = given === undefined ? tempFolder() : { path: given, remove: () => undefined };
  const state = join(folder.path, '.state');
  const ports = new Map<string, number>();
  const running: Running[] = [];
  const functions: string[] = [];
  const withPorts = (text: string) =>
    text.replace(PAGE_PORTS, (port) => {
      if (!ports.has(port)) ports.set(port, findPort());
      return String(ports.get(port));
    });
  const save = (name: string, text: string) => {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), withPorts(text));
  };
  // A page finds the receivers where a checkout has them.
  for (const name of given === undefined ? RECEIVERS : []) save(name, readFileSync(join(ROOT, name), 'utf8'));
  const environment = {
    PATH: `${createTools(folder.path, installs)}:${process.env.PATH ?? ''}`,
    HOME: folder.path,
    STATE: state,
    PORT: withPorts('8080'),
    PAYBELL_URL: withPorts('http://127.0.0.1:8080'),
    npm_config_update_notifier: 'false',
    ...toolSettings(),
    ...settings,
  };

  const start = (script: string) =>
    Bun.spawn(['sh', '-eu', '-c', [`if [ -f "$STATE" ]; then . "$STATE"; fi`, ...functions, script].join('\n')], {
      cwd: folder.path,
      env: environment,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
    });

  async function runToEnd(text: string, place: string): Promise<string> {
    // The next block starts with the exported variables and in the same folder.
    const child = start(`${text}\nexport -p > "$STATE"; printf "cd '%s'\\n" "$PWD" >> "$STATE"`);
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (exitCode !== 0) throw new Error(`${place} ended with ${exitCode}:\n${text}\n${stderr}${stdout}`);
    functions.push(...(text.match(FUNCTION) ?? []));
    return stdout;
  }

  async function runInBackground(text: string, place: string): Promise<string> {
    const child = start(text);
    let output = '';
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
    };
    const ended = Promise.all([collect(child.stdout), collect(child.stderr), child.exited]);
    running.push({ text, child, ended, output: () => output });
    await Promise.race([
      until(`${place} is up`, () => isUp(output)),
      ended.then(([, , exitCode]) => {
        throw new Error(`${place} ended with ${exitCode}:\n${text}\n${output}`);
      }),
    ]);
    // A page that saves the output takes the line from there.
    if (!text.includes('| tee ')) {
      for (const [, pasted] of output.matchAll(/^ *(export .*)$/gm)) appendFileSync(state, `${pasted}\n`);
    }
    return output;
  }

  async function stop(which: (text: string) => boolean): Promise<void> {
    for (const { child, ended } of running.filter(({ text }) => which(text))) {
      // Like Ctrl-C, the signal goes to every process that the shell started. They have all ended when their output is closed.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGINT');
      await ended.catch(() => undefined);
    }
  }

  return {
    folder: folder.path,
    async run({ text, place, prose }) {
      if (/\bstop the service\b/i.test(prose)) await stop((command) => /npm start|paybell serve/.test(command));
      if (separatesTerminals && NEW_TERMINAL.test(prose)) {
        rmSync(state, { force: true });
        functions.length = 0;
      }
      return DOES_NOT_END.test(text.trimEnd())
        ? runInBackground(withPorts(text), place)
        : runToEnd(withPorts(text), place);
    },
    save,
    outputOf: (words) =>
      running
        .filter(({ text }) => text.includes(words))
        .map(({ output }) => output())
        .join('\n'),
    isRunning: (words) => running.some(({ text, child }) => text.includes(words) && child.exitCode === null),
    async close() {
      await stop(() => true);
      folder.remove();
    },
  };
}

/** A free port below the ephemeral range, so that no outgoing connection takes it before it is used. */
function findPort(): number {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    try {
      void Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true);
      return port;
    } catch {
      // In use: try another one.
    }
  }
  throw new Error('no port is free');
}

/** After the line that says it is listening, the service prints the key; wait for the last line. */
function isUp(output: string): boolean {
  return /listening|following/i.test(output) && (!/is listening/.test(output) || /API reference/.test(output));
}

/**
 * Replacements of npm and npx that need no network and use the installed packages; and `paybell`, which runs this checkout. In a
 * copy of the checkout, npm itself runs the scripts.
 */
function createTools(folder: string, installs: boolean): string {
  const tools = join(folder, '.tools');
  const bun = process.execPath;
  const paybell = PROGRAM.map((word) => `"${word}"`).join(' ');
  mkdirSync(tools, { recursive: true });
  const npm = `#!/bin/sh
case "$*" in
  start | 'run -s paybell -- '* | 'run demo'*) if [ -f src/main.ts ]; then exec "${Bun.which('npm')}" "$@"; fi ;;
esac
case "$*" in
  test) ;;
  start) export npm_package_name=paybell npm_lifecycle_event=start; exec ${paybell} serve ;;
  'run build') exec "${bun}" "${join(ROOT, 'build/main.ts')}" ;;
  'run build:package') exec "${bun}" "${join(ROOT, 'package/build.ts')}" dist/packages ;;
  'init -y') exec "${Bun.which('npm')}" "$@" ;;
  'pack '*'./dist/packages/'* | 'sbom '*) exec "${Bun.which('npm')}" "$@" ;;
  'install ../paybell-client-'*) exec "${Bun.which('npm')}" "$@" --offline --no-audit --no-fund ;;
  'install --global paybell-'*.tgz) test -f "$3" && mv "${tools}/paybell-to-install" "${tools}/paybell" ;;
  ci | 'install '*) ln -sfn "${join(ROOT, 'node_modules')}" node_modules ;;
  *) echo "unexpected: npm $*" >&2; exit 64 ;;
esac
`;
  addTool(tools, 'npm', npm);
  addTool(tools, 'npx', `#!/bin/sh\ntest "$1" = bun && shift && exec "${bun}" "$@"\n`);
  addTool(tools, installs ? 'paybell-to-install' : 'paybell', `#!/bin/sh\nexec ${paybell} "$@"\n`);
  if (Bun.which('openssl') === null) addTool(tools, 'openssl', RANDOM_KEY);
  return tools;
}

/** Replaces `openssl rand -base64 32`, the only use of openssl on the pages, on machines without openssl. */
const RANDOM_KEY = `#!/bin/sh
head -c 32 /dev/urandom | base64
`;

function addTool(tools: string, name: string, script: string): void {
  writeFileSync(join(tools, name), script);
  chmodSync(join(tools, name), 0o755);
}

/** Keeps the caches and proxies of other tool chains, so that nothing is downloaded twice. */
function toolSettings(): Record<string, string> {
  const home = process.env.HOME ?? '';
  const caches = { GOPATH: `${home}/go`, GOCACHE: `${home}/.cache/go-build`, PIP_CACHE_DIR: `${home}/.cache/pip` };
  const given = Object.entries(process.env).filter(([name]) => /^(GO|PIP_|PYENV_|SSL_|(HTTPS?|NO)_PROXY$)/i.test(name));
  return { ...caches, ...Object.fromEntries(given.map(([name, value]) => [name, value ?? ''])) };
}
