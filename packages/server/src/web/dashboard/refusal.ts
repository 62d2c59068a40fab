import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/send-json.js';

/** Refusals that the contract's API does not have. */
export type DashboardErrorCode =
  | 'cross_origin'
  | 'not_signed_in'
  | 'sign_in_failed'
  | 'too_many_tries'
  | 'operator_only';

/** Answers in the API's error shape. */
export function refuse(response: ServerResponse, status: number, code: DashboardErrorCode, message: string): void {
  sendJson(response, status, { error: { code, message } });
}
