import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/** The file of profiles: `login` writes it, and every command on a server reads it. */
export const DEFAULT_PROFILE = 'default';

const profileSchema = z.object({ url: z.string(), processor: z.string(), entityId: z.string(), apiKey: z.string() });
export type Profile = z.output<typeof profileSchema>;

const fileSchema = z.object({ profiles: z.record(z.string(), profileSchema) });
type Profiles = z.output<typeof fileSchema>['profiles'];

/** The file of the profiles, in the system's folder for a user's settings. */
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
    throw new CommandError(`cannot read ${file}: fix its permissions, or delete it and use ${PAYBELL} login`);
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  // The message must not repeat the text, which has keys in it.
  if (!parsed.success) throw new CommandError(`${file} is damaged: delete it and use ${PAYBELL} login`);
  return parsed.data.profiles;
}

/** Adds or replaces a profile, or deletes it if `profile` is null. */
export function writeProfile(file: string, name: string, profile: Profile | null): void {
  const { [name]: _, ...others } = readProfiles(file);
  const profiles = profile === null ? others : { ...others, [name]: profile };
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Writes a second file and renames it, so that the profiles are never half written or readable by other users.
  const temporary = `${file}.${process.pid}`;
  try {
    writeFileSync(temporary, `${JSON.stringify({ profiles }, null, 2)}\n`, { mode: 0o600 });
    chmodSync(temporary, 0o600);
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
