import type { DiagLogger } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../log.ts';

/** Often enough to be noticed, seldom enough not to fill the log while a collector is down. */
const REPORT_EVERY_MS = 60_000;

/** Says in the log that a collector does not take what is sent to it. The first time at once, then once a minute. */
export class LossReporter {
  #lostSpans = 0;
  #nextReportMs = 0;

  constructor(
    private readonly log: Logger,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** Warnings of the packages: spans that their queue dropped, or that the collector accepted only in part. */
  get diagnostics(): DiagLogger {
    const ignore = () => undefined;
    // Errors are those of requests to the collector, which are reported by their exporters.
    return { error: ignore, warn: (message) => this.#report(message), info: ignore, debug: ignore, verbose: ignore };
  }

  watchSpans(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          if (result.error !== undefined) {
            this.#lostSpans += spans.length;
            this.#report(messageOf(result.error));
          }
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    };
  }

  watchMetrics(exporter: PushMetricExporter): PushMetricExporter {
    const report = (error: Error) => this.#report(messageOf(error));
    const { export: send } = exporter;
    exporter.export = (metrics, done) =>
      send.call(exporter, metrics, (result) => {
        if (result.error !== undefined) report(result.error);
        done(result);
      });
    return exporter;
  }

  #report(reason: string): void {
    const nowMs = this.nowMs();
    if (nowMs < this.#nextReportMs) return;
    this.#nextReportMs = nowMs + REPORT_EVERY_MS;
    const lostSpans = this.#lostSpans;
    this.#lostSpans = 0;
    this.log.warn({ reason, lostSpans }, 'telemetry was not taken by the collector; deliveries are not affected');
  }
}

/** For a response, only its status, because its texts can be anything. */
function messageOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'number' ? `The collector responded with ${error.code}` : error.message;
}
