import { type Config, ConfigError, loadConfig, SETTING_NAMES } from '../../config.ts';
import { misspeltSettings } from '../operator/settings.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** `config` is null if a setting is invalid, because the other checks would use wrong settings. */
export function checkSettings(environment: Environment): { config: Config | null; findings: Finding[] } {
  try {
    const config = loadConfig(environment);
    const given = SETTING_NAMES.filter((name) => environment[name]).length;
    const known = ok('settings', `${given} set, ${SETTING_NAMES.length - given} at their defaults`);
    return { config, findings: [known, ...insecure(config), ...misspelt(environment)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.errors.map(({ setting, message }) =>
      failure('settings', `${setting} is invalid`, `${setting} ${message}`),
    );
    return { config: null, findings: [...findings, ...misspelt(environment)] };
  }
}

function insecure(config: Config): Finding[] {
  if (!config.ALLOW_INSECURE_TARGETS || isLoopback(config.HOST)) return [];
  return [
    warning(
      'settings',
      `ALLOW_INSECURE_TARGETS is true while HOST is ${config.HOST}`,
      'Unset ALLOW_INSECURE_TARGETS: it lets webhooks reach private addresses of this network.',
    ),
  ];
}

function misspelt(environment: Environment): Finding[] {
  return misspeltSettings(environment).map(({ name, meant }) =>
    warning('settings', `${name} is not a setting and is ignored`, `Did you mean ${meant}?`),
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
