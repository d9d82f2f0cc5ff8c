import { type Config, ConfigError, loadConfig, SETTING_NAMES } from '../../config.ts';
import { misspeltSettings } from '../operator/misspelt-settings.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Null when they cannot be used: then no other check would look at what is meant. */
export function checkSettings(environment: Environment): { config: Config | null; findings: Finding[] } {
  try {
    const config = loadConfig(environment);
    const given = SETTING_NAMES.filter((name) => environment[name]).length;
    const known = ok('settings', `${given} given, ${SETTING_NAMES.length - given} by default`);
    return { config, findings: [known, ...doubtful(config, environment)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.errors.map(({ setting, message }) =>
      fault('settings', `${setting} is not usable`, `${setting} ${message}`),
    );
    return { config: null, findings };
  }
}

function doubtful(config: Config, environment: Environment): Finding[] {
  const findings: Finding[] = [];
  if (config.ALLOW_INSECURE_TARGETS && !isLoopback(config.HOST)) {
    findings.push(
      warning(
        'settings',
        `ALLOW_INSECURE_TARGETS is true, and HOST is ${config.HOST}`,
        'Unset ALLOW_INSECURE_TARGETS: with it, registrations reach private addresses of this network.',
      ),
    );
  }
  for (const { name, meant } of misspeltSettings(environment)) {
    findings.push(warning('settings', `${name} is no setting`, `If ${meant} is meant, rename it.`));
  }
  return findings;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
