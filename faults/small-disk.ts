import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteClosed, noteOpened } from './left-open.ts';

/** A file system of a few megabytes, in memory, that a trial can fill and empty. Only root may mount one. */
export class SmallDisk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** Null where mounting is not allowed. */
  static async mount(megabytes: number): Promise<SmallDisk | null> {
    const path = mkdtempSync(join(tmpdir(), 'paybell-disk-'));
    const { exitCode } = await Bun.$`mount -t tmpfs -o size=${megabytes}m,mode=755 tmpfs ${path}`.quiet().nothrow();
    if (exitCode !== 0) {
      rmSync(path, { recursive: true });
      return null;
    }
    const disk = new SmallDisk(path);
    noteOpened(disk);
    return disk;
  }

  /** Takes all that is free, but for so many bytes. */
  fill(leaveBytes: number): void {
    const { bavail, bsize } = statfsSync(this.path);
    try {
      writeFileSync(this.#filler, Buffer.alloc(Math.max(bavail * bsize - leaveBytes, 0)));
    } catch (error) {
      // The store has grown in between, and then the disk is as full as it was meant to be.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }

  empty(): void {
    rmSync(this.#filler, { force: true });
  }

  get #filler(): string {
    return join(this.path, 'somebody-elses-file');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    noteClosed(this);
    await Bun.$`umount -l ${this.path}`.quiet().nothrow();
    rmSync(this.path, { recursive: true, force: true });
  }
}
