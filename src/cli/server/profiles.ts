import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';

/** Which server, as whom: what `login` stores and every command on a server reads. */
export const DEFAULT_PROFILE = 'default';

const profileSchema = z.object({ url: z.string(), processor: z.string(), entityId: z.string(), apiKey: z.string() });
export type Profile = z.output<typeof profileSchema>;

const fileSchema = z.object({ profiles: z.record(z.string(), profileSchema) });
type Profiles = z.output<typeof fileSchema>['profiles'];

type Environment = Readonly<Record<string, string | undefined>>;

/** Where each system keeps the settings of a user's programs. */
export function profileFile(environment: Environment, platform: NodeJS.Platform = process.platform): string {
  const home = environment.HOME ?? homedir();
  const base =
    platform === 'win32'
      ? (environment.APPDATA ?? join(home, 'AppData', 'Roaming'))
      : environment.XDG_CONFIG_HOME || join(home, '.config');
  return join(base, 'paybell', 'profiles.json');
}

export function readProfiles(file: string): Profiles {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw new CommandError(`${file} cannot be read: give it back to yourself, or remove it and use ${PAYBELL} login`);
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  // Nothing of its text is repeated: there are keys in it.
  if (!parsed.success) throw new CommandError(`${file} is damaged: remove it and use ${PAYBELL} login`);
  return parsed.data.profiles;
}

/** Adds or replaces one, or removes it when it is null. */
export function writeProfile(file: string, name: string, profile: Profile | null): void {
  const { [name]: _, ...others } = readProfiles(file);
  const profiles = profile === null ? others : { ...others, [name]: profile };
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Written beside it and renamed, so that no moment has half a file or one that others can read.
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, `${JSON.stringify({ profiles }, null, 2)}\n`, { mode: 0o600 });
    chmodSync(fresh, 0o600);
    renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
