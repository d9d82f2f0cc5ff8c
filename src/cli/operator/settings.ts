import { type Config, loadConfig, SETTING_NAMES } from '../../config.ts';
import { nearest } from '../../contract/parse-input.ts';
import { CONNECTION_VARIABLES } from '../server/connection.ts';
import { printWarning } from '../terminal/output.ts';
import { type Environment, terminal } from '../terminal/terminal.ts';

/** Shorter names allow only one edit, because too many variables are two letters away from PORT. */
const SHORTEST_FOR_TWO_EDITS = 7;
/** The commands that call a server read variables with this prefix; the settings of the service have none. */
const PREFIX = 'PAYBELL_';

/** Variables that look like a misspelt setting, if the setting itself is not set. */
export function misspeltSettings(environment: Environment): { name: string; meant: string }[] {
  return Object.keys(environment).flatMap((name) => {
    if (isKnown(name)) return [];
    const meant = nearestSetting(name);
    return meant === null || environment[meant] ? [] : [{ name, meant }];
  });
}

function isKnown(name: string): boolean {
  return (SETTING_NAMES as readonly string[]).includes(name) || CONNECTION_VARIABLES.includes(name);
}

function nearestSetting(name: string): string | null {
  if (name.startsWith(PREFIX)) return SETTING_NAMES.find((setting) => PREFIX + setting === name) ?? null;
  const isLong = (text: string) => text.length >= SHORTEST_FOR_TWO_EDITS;
  const long = isLong(name) ? nearest(name, SETTING_NAMES.filter(isLong)) : null;
  const short = SETTING_NAMES.filter((setting) => !isLong(setting) && setting[0] === name[0]?.toUpperCase());
  return long ?? nearest(name, short, 1);
}

/**
 * Warns about misspelt settings first. A misspelt name may be why a setting is missing, or why a command uses the wrong
 * database.
 */
export function readSettings(environment: Environment = terminal().env, options?: { withSecretKey: boolean }): Config {
  for (const { name, meant } of misspeltSettings(environment)) {
    printWarning(`${name} is not a setting and is ignored; did you mean ${meant}?`);
  }
  return loadConfig(environment, options);
}
