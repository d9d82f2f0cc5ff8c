import { afterAll, expect } from 'bun:test';
import { type CommandOutcome, commandLine } from './command-line.ts';
import { tempFolder } from './paybell.ts';
import { serviceOfFile } from './service-of-file.ts';

/**
 * Starts a service for the tests of a file. The commands have the key of its first entity. They only use HTTP, so one
 * engine behind the service is enough.
 */
export function serviceForCommands() {
  const folder = tempFolder();
  const service = serviceOfFile();
  afterAll(() => folder.remove());

  function paybell(args: readonly string[]): Promise<CommandOutcome> {
    const { url, first } = service();
    const credentials = { PAYBELL_ENTITY_ID: first.entityId, PAYBELL_API_KEY: first.apiKey };
    return commandLine({ PAYBELL_URL: url, ...credentials, HOME: folder.path })(args);
  }

  async function runJson(args: readonly string[]): Promise<unknown> {
    const { exitCode, stdout, stderr } = await paybell([...args, '--json']);
    expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  return { client: () => service().client(), folder: folder.path, paybell, runJson };
}
