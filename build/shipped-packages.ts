/** A package in `package-lock.json`. */
export type Locked = {
  dev?: boolean;
  devOptional?: boolean;
  optionalDependencies?: Record<string, string>;
};

/**
 * Whether the service uses a package. TypeScript is a tool of this project and an optional peer of viem, which npm calls
 * `devOptional`: nothing that runs imports it, nor the binaries that it depends on.
 */
export function shippedRule(packages: Readonly<Record<string, Locked>>): (path: string, locked: Locked) => boolean {
  const tools = new Set(
    Object.values(packages).flatMap(({ devOptional, optionalDependencies = {} }) =>
      devOptional === true ? Object.keys(optionalDependencies) : [],
    ),
  );
  return (path, { dev, devOptional }) =>
    dev !== true && devOptional !== true && !tools.has(path.replace(/^node_modules\//, ''));
}
