/**
 * Marks what a network has made, for programs that tell it from photos: the IPTC's term, which regulations such as
 * article 50(2) of the EU's AI Act can be met with. The GLB has it in `asset.extras.digitalSourceType`.
 *
 * @see https://cv.iptc.org/newscodes/digitalsourcetype/
 */
export const digitalSourceType = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia';

/**
 * The mark of an image, as an XMP packet.
 *
 * @see IPTC Photo Metadata Standard 2023.2, "Digital Source Type"
 */
export const digitalSourceXmp = `<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
   Iptc4xmpExt:DigitalSourceType="${digitalSourceType}"/>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>`;
