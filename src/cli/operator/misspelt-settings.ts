import { SETTING_NAMES } from '../../config.ts';
import { nearest } from '../../contract/parse-input.ts';
import { printWarning } from '../terminal/output.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Shorter names are skipped: too many variables are two letters away from PORT. */
const SHORTEST = 7;

/** Variables that look like a misspelt setting, where the setting itself is not set. */
export function misspeltSettings(environment: Environment): { name: string; meant: string }[] {
  const long = SETTING_NAMES.filter((setting) => setting.length >= SHORTEST);
  return Object.keys(environment).flatMap((name) => {
    if (name.length < SHORTEST || long.some((setting) => setting === name)) return [];
    const meant = nearest(name, long);
    return meant === null || environment[meant] ? [] : [{ name, meant }];
  });
}

/** Warns before the settings are used, because the command may be about to work on the wrong store. */
export function warnOfMisspeltSettings(environment: Environment): void {
  for (const { name, meant } of misspeltSettings(environment)) {
    printWarning(`${name} is not a setting and is ignored; did you mean ${meant}?`);
  }
}
