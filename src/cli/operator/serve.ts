import type { Command } from 'commander';
import { type Config, servesApi, summarize, summarizeChanges } from '../../config.ts';
import { createLogger } from '../../log.ts';
import { startService } from '../../service.ts';
import type { Provisioned } from '../../store/tenants/provision.ts';
import { version } from '../../version.ts';
import { EXIT } from '../terminal/command-error.ts';
import { listenOn } from '../terminal/listen-on.ts';
import { paint, printLine, showsColour } from '../terminal/output.ts';
import { nextStopSignal } from '../terminal/stop-signal.ts';
import { firstSteps } from './first-start.ts';
import { readSettings } from './settings.ts';
import { settingsHelp } from './settings-help.ts';

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the service')
    .addHelpText('after', () => `\n${settingsHelp()}`)
    .action(serve);
}

async function serve(): Promise<void> {
  const config = readSettings();
  const log = createLogger(config.LOG_LEVEL, { colour: showsColour(process.stdout) });
  const stopSignal = nextStopSignal();
  const target = { host: config.HOST, port: config.PORT, hostSetting: 'HOST', portSetting: 'PORT' };
  const service = await listenOn(target, (address) => startService({ ...config, HOST: address }, log));
  // On a terminal the full list would push the key out of sight, so only settings that differ from the defaults are shown.
  const settings = process.stdout.isTTY ? summarizeChanges(config) : summarize(config);
  log.info({ version, url: service.url, settings }, 'started');
  printWelcome(service.url, config, service.firstEntity);
  const signal = await stopSignal;
  log.info({ signal }, 'stopping');
  await service.stop();
  log.info('stopped');
  // What cannot be cancelled must not keep the process alive: the lookup of a name whose server does not respond, for 25 s, and
  // a request that was cut off.
  process.exit(EXIT.success);
}

/** Printed and not logged, because on a terminal the key is in it. */
function printWelcome(url: string, config: Config, first: Provisioned | null): void {
  printLine(`\n  ${paint('Paybell', 'bold')} ${version} is listening on ${paint(url, 'cyan')}`);
  if (first !== null) printLine(firstSteps(url, config, first, process.stdout.isTTY));
  const dashboard = servesApi(config) ? `\n  Dashboard      ${url}/` : '';
  printLine(`${dashboard}\n  API reference  ${url}/docs\n`);
}
