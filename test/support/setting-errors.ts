import { ConfigError, loadConfig } from '../../src/config.ts';

/** The messages about wrong settings, by setting. */
export function errorsOf(environment: Record<string, string>): Record<string, string> {
  try {
    loadConfig(environment);
    return {};
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.errors.map(({ setting, message }) => [setting, message]));
  }
}
