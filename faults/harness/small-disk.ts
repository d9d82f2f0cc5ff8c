import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerCleanup, unregisterCleanup } from './cleanup.ts';

/** A file system of a few megabytes in memory that a trial can fill and empty. Only root may mount it. */
export class SmallDisk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** Resolves to null where mounting is not allowed. */
  static async mount(megabytes: number): Promise<SmallDisk | null> {
    const path = mkdtempSync(join(tmpdir(), 'paybell-disk-'));
    const { exitCode } = await Bun.$`mount -t tmpfs -o size=${megabytes}m,mode=755 tmpfs ${path}`.quiet().nothrow();
    if (exitCode !== 0) {
      rmSync(path, { recursive: true });
      return null;
    }
    const disk = new SmallDisk(path);
    registerCleanup(disk);
    return disk;
  }

  /** Leaves only this many bytes free. */
  fill(leaveBytes: number): void {
    const { bavail, bsize } = statfsSync(this.path);
    try {
      writeFileSync(this.#filler, Buffer.alloc(Math.max(bavail * bsize - leaveBytes, 0)));
    } catch (error) {
      // The store has grown in the meantime and the disk is full already.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }

  empty(): void {
    rmSync(this.#filler, { force: true });
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unregisterCleanup(this);
    await Bun.$`umount -l ${this.path}`.quiet().nothrow();
    rmSync(this.path, { recursive: true, force: true });
  }
}
