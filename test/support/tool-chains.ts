import { GO, PYTHON } from './requirements.ts';

/** Optional tool chains. Blocks that need a missing one, or a library that cannot be downloaded, are skipped with a message. */

const TOOL_CHAINS = [
  { tool: 'python3', requirement: PYTHON, uses: /^(?:python3 |\.venv\/)/m, fetches: /\bpip install\b/ },
  { tool: 'go', requirement: GO, uses: /^(?:go |\.\/receiver)/m, fetches: /^go get /m },
] as const;

export type ToolChains = {
  /** Why the commands cannot be run on this machine, or null. */
  readonly reasonNotToRun: (commands: string) => string | null;
  /** Whether a library could not be downloaded. Its tool chain then counts as missing. */
  readonly isDownloadFailure: (commands: string) => boolean;
};

export function findToolChains(): ToolChains {
  const missing = new Map<string, string>();
  for (const { tool, requirement } of TOOL_CHAINS) {
    if (!requirement.isMet) missing.set(tool, `there is no ${tool} on this machine`);
  }
  return {
    reasonNotToRun: (commands) => {
      const tool = TOOL_CHAINS.find(({ uses }) => uses.test(commands))?.tool;
      return tool === undefined ? null : (missing.get(tool) ?? null);
    },
    isDownloadFailure: (commands) => {
      const tool = TOOL_CHAINS.find(({ fetches }) => fetches.test(commands))?.tool;
      if (tool === undefined) return false;
      missing.set(tool, `a library for ${tool} cannot be downloaded`);
      return true;
    },
  };
}
