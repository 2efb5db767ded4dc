/* What goes with a message: pictures as they are, text files as text. */

export interface Attachment {
  name: string;
  size: number;
  /** The address of a picture, or null for text. */
  picture: string | null;
  part: unknown;
}

const MAX_BYTES = 8 << 20;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 8 MB.`);
  if (PICTURES.test(file.type)) {
    const url = await new Promise<string>((done, failed) => {
      const reader = new FileReader();
      reader.onload = () => done(String(reader.result));
      reader.onerror = () => failed(new Error(`${file.name} could not be read.`));
      reader.readAsDataURL(file);
    });
    const data = url.slice(url.indexOf(",") + 1);
    return { name: file.name, size: file.size, picture: url, part: { type: "image", source: { type: "base64", media_type: file.type, data } } };
  }
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(`${file.name} is neither a picture nor text.`);
  return { name: file.name, size: file.size, picture: null, part: { type: "text", text: `File ${file.name}:\n${text}` } };
}

/** What the server is sent: plain text where that is all there is. */
export function toContent(text: string, attachments: readonly Attachment[]): unknown {
  if (!attachments.length) return text;
  return [...(text ? [{ type: "text", text }] : []), ...attachments.map((each) => each.part)];
}
