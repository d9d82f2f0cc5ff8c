import type { Environment } from './terminal.ts';

/** The npm scripts of a checkout that start this program. */
const SCRIPTS = ['paybell', 'start', 'dev'];

/** How the user started this program, so that commands in messages work when they are pasted. */
export function invocation(environment: Environment): string {
  const { npm_package_name, npm_lifecycle_event, npm_lifecycle_script } = environment;
  if (npm_package_name === 'paybell' && SCRIPTS.includes(npm_lifecycle_event ?? '')) return 'npm run -s paybell --';
  if (npm_lifecycle_event === 'npx' && /^['"]?paybell\b/.test(npm_lifecycle_script ?? '')) return 'npx paybell';
  return 'paybell';
}

/** How the user starts the service again. */
export function serveInvocation(environment: Environment): string {
  const { npm_package_name, npm_lifecycle_event } = environment;
  if (npm_package_name === 'paybell' && npm_lifecycle_event === 'start') return 'npm start';
  if (npm_package_name === 'paybell' && npm_lifecycle_event === 'dev') return 'npm run dev';
  return `${invocation(environment)} serve`;
}

/**
 * The commands of the process, even on a given terminal, because modules use them in help texts when they are loaded.
 */
export const PAYBELL = invocation(process.env);
export const SERVE = serveInvocation(process.env);
