import { resolve } from 'node:path';
import { embedDashboard } from '../src/api/dashboard/embedding.ts';

const MAIN = resolve(import.meta.dir, '../src/main.ts');
/** Started by the executable as a thread, and so not found by following imports. */
const THREAD = resolve(import.meta.dir, '../src/store/database/sqlite/thread-program.ts');

export type ExecutableOptions = {
  /** The system that it runs on, such as `bun-linux-arm64-musl`; this one by default. */
  readonly target?: Bun.Build.CompileTarget | undefined;
  /** The path of Bun for that system. Bun downloads it by default. */
  readonly runtime?: string | undefined;
};

/** Builds Paybell as one executable that needs neither Node nor Bun. */
export async function buildExecutable(outfile: string, { target, runtime }: ExecutableOptions = {}): Promise<void> {
  await Bun.build({
    entrypoints: [MAIN, THREAD],
    naming: { entry: '[name].[ext]' },
    bytecode: true,
    format: 'esm',
    minify: true,
    // As in the package: a command loads its own part of the service.
    splitting: true,
    plugins: [await embedDashboard()],
    compile: {
      outfile,
      ...(target === undefined ? {} : { target }),
      ...(runtime === undefined ? {} : { executablePath: runtime }),
      // A bunfig.toml in the working directory could make it load foreign code.
      autoloadBunfig: false,
    },
  });
}
