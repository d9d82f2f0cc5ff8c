import root from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { conditionsOf, filesOf, MODULES } from './modules.ts';

/** The manifests of the two packages. Neither has a script, so that installing them runs nothing. */

const { version, license, engines } = root;

export const CLIENT_PACKAGE = '@paybell/client';

export function clientManifest() {
  return {
    name: CLIENT_PACKAGE,
    version,
    description: 'Client and verifier for Paybell, webhooks for crypto payments',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: engines.node },
    // For tools that do not read `exports`.
    main: './client.cjs',
    types: './client.d.ts',
    exports: {
      '.': conditionsOf('client'),
      './verify': conditionsOf('verify'),
      './package.json': './package.json',
    },
    files: MODULES.flatMap(filesOf),
    publishConfig: { access: 'public' },
  };
}

export function serviceManifest() {
  return {
    name: 'paybell',
    version,
    description: root.description,
    license,
    type: 'module',
    engines: { node: engines.node },
    bin: { paybell: 'bin/paybell', 'paybell-node': 'bin/paybell.mjs' },
    exports: {
      ...Object.fromEntries(MODULES.map((module) => [`./${module}`, conditionsOf(module)])),
      './package.json': './package.json',
    },
    files: [...MODULES.flatMap(filesOf), 'bin', 'lib', 'THIRD-PARTY-LICENCES.txt'],
    optionalDependencies: runtimes(),
  };
}

/**
 * Bun for every system, as the lock file has it. The package `bun` would choose among them in an install script, which many
 * teams do not allow.
 */
function runtimes(): Record<string, string> {
  return { ...lock.packages['node_modules/bun'].optionalDependencies };
}
