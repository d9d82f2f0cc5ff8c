/** Tool chains that a machine need not have, and libraries that it need not reach: what needs them is left out, out loud. */

const TOOL_CHAINS = [
  { tool: 'python3', uses: /^(?:python3 |\.venv\/)/m, fetches: /\bpip install\b/ },
  { tool: 'go', uses: /^(?:go |\.\/receiver)/m, fetches: /^go get /m },
] as const;

export type ToolChains = {
  /** Why the commands cannot be run here, or null. */
  readonly reasonNotToRun: (commands: string) => string | null;
  /** Whether the failure means that a library is out of reach; then its tool chain counts as missing from now on. */
  readonly isOutOfReach: (commands: string) => boolean;
};

export function lookForToolChains(): ToolChains {
  const missing = new Map<string, string>();
  for (const { tool } of TOOL_CHAINS) {
    if (Bun.which(tool) === null) missing.set(tool, `there is no ${tool} on this machine`);
  }
  return {
    reasonNotToRun: (commands) => {
      const tool = TOOL_CHAINS.find(({ uses }) => uses.test(commands))?.tool;
      return tool === undefined ? null : (missing.get(tool) ?? null);
    },
    isOutOfReach: (commands) => {
      const tool = TOOL_CHAINS.find(({ fetches }) => fetches.test(commands))?.tool;
      if (tool === undefined) return false;
      missing.set(tool, `a library for ${tool} is out of reach here`);
      return true;
    },
  };
}
