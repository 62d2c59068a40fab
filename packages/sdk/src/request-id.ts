/** What the server's log calls this request. */
export const requestId = (response: Response): string | undefined => response.headers.get('x-request-id') ?? undefined;
