import type { Command } from 'commander';
import { type Config, summarize, summarizeChanges } from '../../config.ts';
import { createLogger } from '../../log.ts';
import { startService } from '../../service.ts';
import type { Provisioned } from '../../store/tenants/provision.ts';
import { version } from '../../version.ts';
import { DEFAULT_PROCESSOR, DEFAULT_URL } from '../server/connection.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { listenOn } from '../terminal/listen-on.ts';
import { paint, printLine, showsColour } from '../terminal/output.ts';
import { nextStopSignal } from '../terminal/stop-signal.ts';
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
  // The lookup of a name whose server does not respond cannot be cancelled, and would keep the process alive for 25 s.
  process.exit();
}

/** Printed to the terminal and not logged, because the key is in it. */
function printWelcome(url: string, config: Config, first: Provisioned | null): void {
  printLine(`\n  ${paint('Paybell', 'bold')} ${version} is listening on ${paint(url, 'cyan')}`);
  if (first !== null) printFirstSteps(url, config.PROCESSOR, first);
  // An instance that only delivers serves no dashboard.
  const dashboard = config.ROLE === 'delivery' ? '' : `\n  Dashboard      ${url}/`;
  printLine(`${dashboard}\n  API reference  ${url}/docs\n`);
}

function printFirstSteps(url: string, processor: string, { entityId, apiKey }: Provisioned): void {
  const api = `${url}/api/v1/${processor}`;
  const credentials = `-H 'api-key: ${apiKey}' -H 'entity-id: ${entityId}'`;
  const registration = { postUrl: 'https://example.com/hook', networkIds: [1, 8453], events: ['TransferFinalized'] };
  printLine(`
  The store was empty, so a first entity was created. ${paint('Its key is shown only this once:', 'yellow')}

    entity-id  ${entityId}
    api-key    ${apiKey}

    ${exportLine(url, processor, { entityId, apiKey })}

  Register webhooks:

    curl -s '${api}/webhooks/classic' \\
      ${credentials} \\
      -H 'content-type: application/json' -d '${JSON.stringify(registration)}'

  List them:

    curl -s '${api}/webhooks/classic?event=TransferFinalized&sortBy=postUrl' \\
      ${credentials}

  Or use the command line. One login serves every terminal:

    PAYBELL_API_KEY=${apiKey} \\
      ${PAYBELL} login --server ${url} --entity ${entityId}

    ${PAYBELL} webhooks list`);
}

/** One line for `curl` and for `paybell`, with the variables that both read. The server is named unless it is the default. */
function exportLine(url: string, processor: string, { entityId, apiKey }: Provisioned): string {
  const variables = [`PAYBELL_ENTITY_ID=${entityId}`, `PAYBELL_API_KEY=${apiKey}`];
  if (url !== DEFAULT_URL) variables.push(`PAYBELL_URL=${url}`);
  if (processor !== DEFAULT_PROCESSOR) variables.push(`PAYBELL_PROCESSOR=${processor}`);
  return `export ${variables.join(' ')}`;
}
