import type { Config } from '../config.ts';
import type { Database } from '../store/database/database.ts';
import type { SecretBox } from '../store/tenants/secret-box.ts';
import { version } from '../version.ts';
import type { AttemptTools } from './attempt.ts';
import { createSender } from './sender.ts';
import { SigningKeyCache } from './signing-key-cache.ts';

/** All that an attempt needs, by the settings. */
export function createAttemptTools(config: Config, db: Database, box: SecretBox): AttemptTools {
  return {
    sender: createSender({
      timeoutMs: config.DELIVERY_TIMEOUT,
      allowInsecureTargets: config.ALLOW_INSECURE_TARGETS,
      userAgent: `Paybell/${version}`,
      ...(config.EXTRA_CA_FILE !== undefined && { extraCa: config.EXTRA_CA_FILE }),
    }),
    keys: new SigningKeyCache(db, box, config.SIGN_ASYMMETRIC),
    schedule: config.RETRY_SCHEDULE,
    bodySignatureHeader: config.BODY_SIGNATURE_HEADER,
    nowMs: Date.now,
    random: Math.random,
  };
}
