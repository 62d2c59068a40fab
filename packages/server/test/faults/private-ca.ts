// The certificate library uses decorators, which need this import first.
import 'reflect-metadata';
import { KeyObject } from 'node:crypto';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 60 * 60 * 1_000;

export interface PrivateCa {
  /** The certificate of the authority, for clients that trust it. */
  ca: string;
  /** The certificate and key of a server on loopback. */
  cert: string;
  key: string;
}

/** Creates a certificate authority for one test, and a certificate for 127.0.0.1. */
export async function makePrivateCa(): Promise<PrivateCa> {
  const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
  const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authority = await newKeys();
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=gen3d test authority',
    serialNumber: '01',
    keys: authority,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  const host = await newKeys();
  const cert = await X509CertificateGenerator.create({
    subject: 'CN=127.0.0.1',
    issuer: ca.subject,
    serialNumber: '02',
    publicKey: host.publicKey,
    signingKey: authority.privateKey,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const key = KeyObject.from(host.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { ca: ca.toString('pem'), cert: cert.toString('pem'), key };
}
