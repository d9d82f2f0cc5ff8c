import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { type Config, servesApi, summarize, summarizeChanges } from '../../config.ts';
import { createLogger, type Logger, readableLines } from '../../log.ts';
import { longestStopMs } from '../../service/stop-times.ts';
import { startService } from '../../service.ts';
import type { Provisioned } from '../../store/tenants/provision.ts';
import { version } from '../../version.ts';
import { EXIT, ReportedFailure } from '../terminal/command-error.ts';
import { listenOn } from '../terminal/listen-on.ts';
import { paint, printLine, showsColour } from '../terminal/output.ts';
import { ownsProcess, terminal } from '../terminal/terminal.ts';
import { firstSteps } from './first-start.ts';
import { readSettings } from './settings.ts';
import { settingsHelp } from './settings-help.ts';
import { Worker } from './workers/worker.ts';

/** Time beyond the longest stop of a worker, after which it is killed. */
const STOP_MARGIN_MS = 2_000;

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the service')
    .addHelpText('after', () => `\n${settingsHelp()}`)
    .action(serve);
}

async function serve(): Promise<void> {
  const config = readSettings();
  const workers = config.WORKERS === 'auto' ? availableParallelism() : config.WORKERS;
  const log = await openLog(config);
  const exitCode = workers > 1 ? await supervise(workers, config, log) : await run(config, log);
  // Operations that cannot be cancelled must not keep the process alive: the lookup of a name whose server does not
  // respond, for 25 s, and a request that was cut off.
  if (ownsProcess()) process.exit(exitCode);
  if (exitCode !== EXIT.success) throw new ReportedFailure();
}

async function openLog({ LOG_LEVEL }: Config): Promise<Logger> {
  const { stdout } = terminal();
  if (!ownsProcess()) return createLogger(LOG_LEVEL, stdout);
  return stdout.isTTY
    ? createLogger(LOG_LEVEL, await readableLines({ colour: showsColour(stdout) }))
    : createLogger(LOG_LEVEL);
}

async function run(config: Config, log: Logger): Promise<number> {
  const { env, stdout, nextStopSignal } = terminal();
  const worker = Worker.join(env);
  const stopSignal = worker === null ? nextStopSignal() : Promise.race([nextStopSignal(), worker.orphaned()]);
  const target = { host: config.HOST, port: config.PORT, hostSetting: 'HOST', portSetting: 'PORT' };
  const options = worker === null ? {} : { metricsText: () => worker.scrape() };
  const starting = listenOn(target, (address) => startService({ ...config, HOST: address }, log, options));
  const service = await starting.catch((error) => {
    worker?.leave();
    throw error;
  });
  const settings = log.isLevelEnabled('debug') ? summarize(config) : summarizeChanges(config);
  // A terminal shows the welcome instead: on a first start, more lines would push the key out of sight.
  log[stdout.isTTY ? 'debug' : 'info']({ version, url: service.url, settings }, 'started');
  worker?.reports(service.metricsText);
  worker?.started({ url: service.url, firstEntity: service.firstEntity });
  if (worker === null) printWelcome(service.url, config, service.firstEntity);
  const signal = await stopSignal;
  log.info({ signal }, 'stopping');
  await service.stop();
  log.info('stopped');
  return EXIT.success;
}

/** Loads the supervisor only here, because a single process does not need it. */
async function supervise(workers: number, config: Config, log: Logger): Promise<number> {
  const { Supervisor } = await import('./workers/supervisor.ts');
  const { env, nextStopSignal } = terminal();
  const stopSignal = nextStopSignal();
  const supervisor = new Supervisor({
    workers,
    command: [...ownProgram(), 'serve'],
    environment: env,
    log,
    longestStopMs: longestStopMs(config) + STOP_MARGIN_MS,
  });
  const started = await Promise.race([supervisor.start(), stopSignal]);
  if (started === null) return EXIT.failure;
  if (typeof started !== 'string') printWelcome(started.url, config, started.firstEntity);
  const signal = await stopSignal;
  log.info({ signal, workers }, 'stopping every worker');
  return (await supervisor.stop()) ? EXIT.success : EXIT.failure;
}

/** The path of the program inside a compiled executable, on Unix and on Windows. */
const EMBEDDED = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/;

function ownProgram(): string[] {
  return EMBEDDED.test(Bun.main) ? [process.execPath] : [process.execPath, Bun.main];
}

/**
 * Prints the welcome instead of logging it, because on a terminal it contains the key. Uses one write, so that readers
 * of a pipe get the whole text.
 */
function printWelcome(url: string, config: Config, first: Provisioned | null): void {
  const listening = `${paint('Paybell', 'bold')} ${version} is listening on ${paint(url, 'cyan')}`;
  const dashboard = servesApi(config) ? `Dashboard ${url}/  ` : '';
  const steps = first === null ? [] : ['', ...firstSteps(url, config, first, terminal().stdout.isTTY === true)];
  const lines = [listening, ...steps, `${dashboard}API reference ${url}/docs`];
  printLine(lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n'));
}
