/** A system that a release has an executable for, with the package that has Bun for it. */
export type ReleaseTarget = {
  readonly name: string;
  readonly target: Bun.Build.CompileTarget;
  readonly runtime: string;
  /** The number of its processor in the header of an ELF file. */
  readonly machine: number;
};

const X64 = 62;
const ARM64 = 183;

export const TARGETS: readonly ReleaseTarget[] = [
  { name: 'linux-x64', target: 'bun-linux-x64', runtime: '@oven/bun-linux-x64', machine: X64 },
  { name: 'linux-arm64', target: 'bun-linux-arm64', runtime: '@oven/bun-linux-aarch64', machine: ARM64 },
  { name: 'linux-x64-musl', target: 'bun-linux-x64-musl', runtime: '@oven/bun-linux-x64-musl', machine: X64 },
  { name: 'linux-arm64-musl', target: 'bun-linux-arm64-musl', runtime: '@oven/bun-linux-aarch64-musl', machine: ARM64 },
];

/** The processor that an executable is for; null if it is no ELF file. */
export async function machineOf(file: string): Promise<number | null> {
  const head = Buffer.from(await Bun.file(file).slice(0, 20).arrayBuffer());
  return head.length === 20 && head.toString('latin1', 0, 4) === '\x7fELF' ? head.readUInt16LE(18) : null;
}
