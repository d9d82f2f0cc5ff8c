import { firstCredentials } from './paybell.ts';

/** The lines that a person would copy from the output. */
export function printed(stdout: string) {
  const { entityId, apiKey } = firstCredentials(stdout) ?? { entityId: '', apiKey: '' };
  const commands = stdout.split(/\r?\n/).filter((line) => /^ +(export|paybell) /.test(line));
  return { entityId, apiKey, commands, headers: { 'api-key': apiKey, 'entity-id': entityId } };
}

export function logLines(stdout: string): string[] {
  return stdout.split('\n').filter((line) => line.startsWith('{'));
}
